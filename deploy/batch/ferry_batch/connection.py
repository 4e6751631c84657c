"""connection makes the channel to a server, and what each call carries."""

import grpc

from .failures import Wrong
from .progress import say

LOCAL = ("127.", "localhost:", "[::1]:", "unix:", "ipv4:127.", "ipv6:[::1]",
         "dns:///localhost:")
OPTIONS = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    # A server that comes back is found soon; asker sends again by itself.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2000),
    ("grpc.enable_retries", 0),
    # All addresses of a name take requests in turn.
    ("grpc.service_config", '{"loadBalancingConfig": [{"round_robin": {}}]}'),
]


def connect(flags):
    """Returns a channel of grpc.aio. Raises Wrong for files of no use."""
    if not flags.tls:
        return grpc.aio.insecure_channel(flags.address, OPTIONS)
    return grpc.aio.secure_channel(
        flags.address,
        grpc.ssl_channel_credentials(
            flags.tls_ca and _read("--tls-ca", flags.tls_ca),
            flags.tls_key and _read("--tls-key", flags.tls_key),
            flags.tls_cert and _read("--tls-cert", flags.tls_cert)), OPTIONS)


def metadata(flags):
    """Returns the metadata of each call. Raises Wrong for a file of no token, and
    says where others may read it."""
    if flags.token_file is None:
        return ()
    token = _read("--token-file", flags.token_file).strip().decode(errors="replace")
    if not token or not token.isascii() or not token.isprintable():
        raise Wrong(f"--token-file: expected one line with a token in "
                    f"{flags.token_file}, found something else")
    if not flags.tls and not flags.address.startswith(LOCAL):
        say("warning: --token-file: without TLS the token can be read on its way to "
            f"{flags.address}: give --tls or --tls-ca")
    return (("authorization", f"Bearer {token}"),)


def _read(flag, path):
    try:
        return path.read_bytes()
    except OSError as error:
        raise Wrong(f"{flag}: cannot read {path}: {error.strerror}") from None
