// Tests which price files are taken, and what is said about those that are not.
#include "bench/plan/price_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "bench/plan/calendar.h"

namespace ferry::plan {
namespace {

using ::testing::HasSubstr;

constexpr char kRow[] =
    R"({"device": "L4", "region": "east", "kind": "spot", "per_hour": 0.25})";

std::string File(const std::string& rows) {
  return R"({"currency": "USD", "as_of": "2026-01-31", "source": "a page",)"
         R"( "rows": [)" +
         rows + "]}";
}

std::string Row(const std::string& members) {
  return R"({"device": "L4", "region": "east", )" + members + "}";
}

PriceFile Parse(const std::string& text) {
  const auto prices = ParsePrices(text, "p.json");
  EXPECT_TRUE(prices.ok()) << prices.status();
  return prices.value_or(PriceFile());
}

std::string Refusal(const std::string& text) {
  return std::string(ParsePrices(text, "p.json").status().message());
}

TEST(PriceFileTest, TakesEveryKey) {
  const PriceFile prices =
      Parse(File(Row(R"("kind": "reserved", "per_hour": 8, "upfront": 1000,
                  "devices_per_instance": 8, "term_hours": 500)")));
  EXPECT_EQ(prices.currency, "USD");
  EXPECT_EQ(prices.as_of, "2026-01-31");
  EXPECT_EQ(prices.source, "a page");
  ASSERT_EQ(prices.rows.size(), 1U);
  EXPECT_EQ(prices.rows[0].kind, PriceKind::kReserved);
  EXPECT_EQ(Describe(prices.rows[0]), "L4, reserved, east, 500 h");
  EXPECT_DOUBLE_EQ(DevicePerHour(prices.rows[0]), (8 + 1000.0 / 500) / 8);
}

TEST(PriceFileTest, AnInstanceHasOneDeviceUnlessSaid) {
  EXPECT_DOUBLE_EQ(DevicePerHour(Parse(File(kRow)).rows[0]), 0.25);
}

TEST(PriceFileTest, TheSampleIsTakenAndSaysThatItIsOne) {
  std::ifstream file(FERRY_SOURCE_DIR "/examples/prices.json");
  std::ostringstream text;
  text << file.rdbuf();
  const PriceFile prices = Parse(text.str());
  EXPECT_THAT(prices.source, HasSubstr("SAMPLE, replace it"));
  EXPECT_GT(prices.rows.size(), 2U);
}

TEST(PriceFileTest, WithoutSourceOrDayNothingIsTaken) {
  EXPECT_EQ(Refusal(R"({"currency": "USD", "as_of": "2026-01-31",)"
                    R"( "rows": [1]})"),
            "p.json: source: expected a text that says who gives the prices, "
            "got nothing");
  EXPECT_EQ(Refusal(R"({"currency": "USD", "source": "a page", "rows": [1]})"),
            "p.json: as_of: expected the day of the prices, \"YYYY-MM-DD\", "
            "got nothing");
  EXPECT_THAT(Refusal(R"({"currency": "USD", "as_of": "2026-02-30",)"
                      R"( "source": "a page", "rows": [1]})"),
              HasSubstr("as_of: expected the day of the prices, "
                        "\"YYYY-MM-DD\", got \"2026-02-30\""));
  EXPECT_THAT(Refusal(R"({"currency": "USD", "as_of": "2026-01-31",)"
                      R"( "source": "", "rows": [1]})"),
              HasSubstr("source: expected"));
}

TEST(PriceFileTest, WrongFilesAreNamed) {
  const std::string no_json = "p.json: expected JSON, found a parse error at ";
  EXPECT_THAT(Refusal("{"), HasSubstr(no_json));
  EXPECT_THAT(Refusal(""), HasSubstr(no_json));
  EXPECT_EQ(Refusal("[1]"), "p.json: expected an object, got [1]");
  EXPECT_THAT(Refusal(File("")), HasSubstr("rows: expected a list"));
  EXPECT_THAT(Refusal(File("7")),
              HasSubstr("rows[0]: expected an object, got 7"));
  EXPECT_THAT(Refusal(R"({"currency": 1})"),
              HasSubstr("currency: expected a currency such as \"USD\", got "
                        "1"));
}

TEST(PriceFileTest, UnknownKeysAreRefused) {
  EXPECT_THAT(
      Refusal(File(Row(R"("kind": "spot", "per_hour": 1, "price": 2)"))),
      HasSubstr(
          "rows[0]: expected the keys device, devices_per_instance, "
          "kind, per_hour, provider, region, term_hours, upfront; got 2 for "
          "'price'"));
  std::string file = File(kRow);
  file.insert(1, R"("asof": "x", )");
  EXPECT_THAT(Refusal(file), HasSubstr("got \"x\" for 'asof'"));
}

TEST(PriceFileTest, WrongRowsAreRefused) {
  const struct {
    const char* members;
    const char* message;
  } cases[] = {
      {R"("kind": "spot")", "per_hour: expected the price of an instance"},
      {R"("kind": "spot", "per_hour": "1")", "per_hour: expected"},
      {R"("kind": "spot", "per_hour": 0)", "per_hour: expected a price above"},
      {R"("kind": "spot", "per_hour": -1)", "per_hour: expected"},
      {R"("kind": "spot", "per_hour": 1e13)", "per_hour: expected"},
      {R"("kind": "spot", "per_hour": 1e999)", "p.json"},
      {R"("kind": "spot", "per_hour": null)", "per_hour: expected"},
      {R"("kind": "Spot", "per_hour": 1)",
       "kind: expected 'on_demand', 'reserved' or 'spot', got \"Spot\""},
      {R"("per_hour": 1)", "kind: expected"},
      {R"("kind": "spot", "per_hour": 1, "devices_per_instance": 0)",
       "devices_per_instance: expected a whole number from 1 to 1024, got 0"},
      {R"("kind": "spot", "per_hour": 1, "devices_per_instance": 1.5)",
       "got 1.5"},
      {R"("kind": "spot", "per_hour": 1, "devices_per_instance": 2000)",
       "got 2000"},
      {R"("kind": "reserved", "per_hour": 1)",
       "term_hours: expected the hours of a reserved row's term, got nothing"},
      {R"("kind": "spot", "per_hour": 1, "term_hours": 8760)",
       "term_hours: expected none but in a reserved row, got 8760"},
      {R"("kind": "on_demand", "per_hour": 1, "upfront": 10)",
       "upfront: expected none but in a reserved row, got 10"},
      {R"("kind": "reserved", "per_hour": 0, "term_hours": 10)",
       "per_hour: expected a price above 0, there or upfront, got 0"},
      {R"("kind": "reserved", "per_hour": 0, "term_hours": 1e-9,
          "upfront": 1e12)",
       "per_hour: expected"},
  };
  for (const auto& wrong : cases) {
    EXPECT_THAT(Refusal(File(Row(wrong.members))), HasSubstr(wrong.message))
        << wrong.members;
  }
  EXPECT_THAT(Refusal(File(std::string(kRow) + "," + kRow)),
              HasSubstr("rows[1]: expected one row for each device, provider, "
                        "region, kind and term, got another of L4, spot, "
                        "east"));
}

std::string FileWith(const std::string& overheads, const std::string& rows) {
  std::string file = File(rows);
  file.insert(1, R"("overheads": )" + overheads + ", ");
  return file;
}

TEST(PriceFileTest, OverheadsAreInEachPrice) {
  const PriceFile prices = Parse(FileWith(
      R"([{"name": "power", "share": 0.25}, {"name": "staff", "per_hour": 2},
          {"name": "support", "share": 0.05}])",
      Row(R"("kind": "reserved", "per_hour": 8, "upfront": 1000,
             "devices_per_instance": 8, "term_hours": 500)")));
  const PriceRow& row = prices.rows[0];
  EXPECT_DOUBLE_EQ(InstancePerHour(row), 8 * 1.3 + 2 * 8);
  EXPECT_DOUBLE_EQ(InstanceUpfront(row), 1000 * 1.3);
  EXPECT_DOUBLE_EQ(DevicePerHour(row), (8 + 1000.0 / 500) / 8 * 1.3 + 2);
  EXPECT_EQ(row.per_hour, 8);
  EXPECT_EQ(DescribeOverheads(prices),
            "power, 25 % of the price; staff, 2 USD an hour of a device; "
            "support, 5 % of the price");
  EXPECT_EQ(DescribeOverheads(Parse(File(kRow))), "");
}

TEST(PriceFileTest, WrongOverheadsAreRefused) {
  const struct {
    const char* overheads;
    const char* message;
  } cases[] = {
      {"[]",
       "p.json: overheads: expected a list of overheads, one or more, "
       "got []"},
      {"3", "overheads: expected a list"},
      {"[3]", "overheads[0]: expected an object, got 3"},
      {R"([{"share": 0.1}])", "overheads[0]: name: expected a name"},
      {R"([{"name": "a"}])",
       "overheads[0]: share: expected a share or per_hour, got nothing"},
      {R"([{"name": "a", "share": 0.1, "per_hour": 1}])",
       "overheads[0]: share: expected none beside per_hour, got 0.1"},
      {R"([{"name": "a", "share": 20}])",
       "overheads[0]: share: expected a share above 0, of 1 at most, got 20"},
      {R"([{"name": "a", "share": 0}])", "share: expected a share above 0"},
      {R"([{"name": "a", "share": "1"}])", "share: expected a share above 0"},
      {R"([{"name": "a", "per_hour": -1}])",
       "per_hour: expected money above 0 for an hour of a device, got -1"},
      {R"([{"name": "a", "per_hour": 0}])", "per_hour: expected money above 0"},
      {R"([{"name": "a", "per_hour": 1, "x": 1}])",
       "overheads[0]: expected the keys name, per_hour, share; got 1 for 'x'"},
  };
  for (const auto& wrong : cases) {
    EXPECT_THAT(Refusal(FileWith(wrong.overheads, kRow)),
                HasSubstr(wrong.message))
        << wrong.overheads;
  }
}

TEST(PriceFileTest, ProvidersTellRowsApart) {
  const auto row = [](const std::string& provider, int price) {
    return Row(R"("kind": "on_demand", "provider": ")" + provider +
               R"(", "per_hour": )" + std::to_string(price));
  };
  const PriceFile prices = Parse(File(row("a", 1) + "," + row("b", 2)));
  EXPECT_EQ(Describe(prices.rows[0]), "L4, on_demand, a, east");
  const auto found = FindPrice(prices, {.device = "L4", .provider = "b"});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->per_hour, 2);
  EXPECT_EQ(FindPrice(prices, {.device = "L4"}).status().message(),
            "expected a provider, region or term that leaves one price, got 2: "
            "L4, on_demand, a, east; L4, on_demand, b, east");
  EXPECT_EQ(
      FindPrice(prices, {.device = "L4", .provider = "c"}).status().message(),
      "no price of 'L4', on_demand, c; there is: L4, on_demand, a, east; "
      "L4, on_demand, b, east");
  EXPECT_THAT(Refusal(File(row("a", 1) + "," + row("a", 2))),
              HasSubstr("got another of L4, on_demand, a, east"));
  EXPECT_THAT(Refusal(File(row("", 1))),
              HasSubstr("rows[0]: provider: expected a name, got \"\""));
}

TEST(PriceFileTest, FindsTheOneRowThatMatches) {
  const PriceFile prices = Parse(File(
      std::string(kRow) + "," + Row(R"("kind": "on_demand", "per_hour": 1)") +
      R"(,{"device": "L4", "region": "west", "kind": "spot", "per_hour": 3},)" +
      Row(R"("kind": "reserved", "per_hour": 4, "term_hours": 10)") + "," +
      Row(R"("kind": "reserved", "per_hour": 5, "term_hours": 20)")));
  const auto found = [&](const PriceQuery& query) {
    const auto row = FindPrice(prices, query);
    return row.ok() ? row->per_hour : -1;
  };
  EXPECT_EQ(found({.device = "L4"}), 1);
  EXPECT_EQ(found({.device = "L4", .kind = PriceKind::kSpot, .region = "west"}),
            3);
  EXPECT_EQ(
      found({.device = "L4", .kind = PriceKind::kReserved, .term_hours = 20}),
      5);
  EXPECT_THAT(FindPrice(prices, {.device = "L4", .kind = PriceKind::kSpot})
                  .status()
                  .message(),
              HasSubstr("got 2: L4, spot, east; L4, spot, west"));
  EXPECT_THAT(FindPrice(prices, {.device = "H1"}).status().message(),
              HasSubstr("no price of 'H1', on_demand; there is: L4, spot"));
  EXPECT_TRUE(absl::IsNotFound(
      FindPrice(prices, {.device = "L4", .region = "x"}).status()));
}

TEST(PriceFileTest, OldPricesAreWarnedOf) {
  const PriceFile prices = Parse(File(kRow));  // of 2026-01-31
  EXPECT_EQ(*AgeWarning(prices, "2026-01-31"), "");
  EXPECT_EQ(*AgeWarning(prices, "2026-05-01"), "") << "90 days";
  EXPECT_THAT(*AgeWarning(prices, "2026-05-02"),
              HasSubstr("of 2026-01-31, 91 days ago"));
  EXPECT_THAT(*AgeWarning(prices, "2026-01-30"), HasSubstr("after today"));
  EXPECT_FALSE(AgeWarning(prices, "today").ok());
}

TEST(PriceFileTest, KindsHaveTheNamesOfTheFile) {
  for (const PriceKind kind :
       {PriceKind::kOnDemand, PriceKind::kReserved, PriceKind::kSpot}) {
    EXPECT_EQ(*ParseKind(KindName(kind)), kind);
  }
  EXPECT_FALSE(ParseKind("").ok());
}

TEST(CalendarTest, TakesDaysThatThereAre) {
  EXPECT_TRUE(ParseDay("2024-02-29").has_value());
  EXPECT_EQ((*ParseDay("2026-03-01") - *ParseDay("2026-02-28")).count(), 1);
  for (const char* text :
       {"", "2026-02-29", "2026-13-01", "2026-00-10", "2026-1-1", "2026/01/01",
        "2026-01-01T", "20x6-01-01", "-026-01-01", "2026-01-32"}) {
    EXPECT_FALSE(ParseDay(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace ferry::plan
