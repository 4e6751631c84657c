// Tests that Ed25519Key takes public keys of its kind, and their signatures.
#include "models/files/ed25519_key.h"

#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/models/signing_key.h"
#include "tests/models/temp_folder.h"

namespace ferry {
namespace {

using ::testing::HasSubstr;

// The second example of RFC 8032: a key, its signature of one byte. Twelve
// bytes stand before a raw key in DER.
constexpr char kKey[] =
    "302a300506032b6570032100"
    "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";
constexpr char kSignature[] =
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
    "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00";

std::string Error(const std::string& path) {
  return std::string(Ed25519Key::Read(path).status().message());
}

TEST(Ed25519KeyTest, VerifiesThePublishedExampleAndNothingElse) {
  const TempFolder folder;
  const auto key = Ed25519Key::Read(
      folder.Write("key", "-----BEGIN PUBLIC KEY-----\n" +
                              absl::Base64Escape(absl::HexStringToBytes(kKey)) +
                              "\n-----END PUBLIC KEY-----\n"));
  ASSERT_TRUE(key.ok()) << key.status();
  EXPECT_EQ(key->path(), folder.path("key"));
  const std::string signature = absl::HexStringToBytes(kSignature);
  EXPECT_TRUE(key->Verifies("\x72", signature));
  EXPECT_FALSE(key->Verifies("\x73", signature));
  EXPECT_FALSE(key->Verifies("", signature));
  EXPECT_FALSE(key->Verifies("\x72", signature.substr(1)));
  EXPECT_FALSE(key->Verifies("\x72", ""));
  std::string changed = signature;
  changed[0] ^= 1;
  EXPECT_FALSE(key->Verifies("\x72", changed));
}

TEST(Ed25519KeyTest, OtherFilesAreRefusedByWhatTheyAre) {
  const TempFolder folder;
  EXPECT_TRUE(absl::IsNotFound(Ed25519Key::Read(folder.path("none")).status()));
  EXPECT_THAT(Error(folder.Write("text", "no key")),
              HasSubstr("text': expected a public Ed25519 key in PEM, as "
                        "openssl pkey -in KEY -pubout writes it, got none"));
  EXPECT_THAT(Error(folder.Write("private", SigningKey().PrivatePem())),
              HasSubstr("got a private key, which stays where"));
  EXPECT_THAT(Error(folder.Write("ed448", SigningKey("ED448").PublicPem())),
              HasSubstr("got a key for ED448"));
}

}  // namespace
}  // namespace ferry
