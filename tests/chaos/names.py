"""Names answers DNS for one name by the servers that are ready, as a headless Service
of Kubernetes tells pods."""

import ipaddress
import socketserver
import struct
import threading

NAME = "ferry.test"
TTL_S = 1
TYPE_A, CLASS_IN = 1, 1
ANSWERS, FIRST_QUESTION = 0x8400, 0xC00C  # flags of an answer, a pointer to its name
HEADER = 12  # bytes


class Names(socketserver.UDPServer):
    """`with` ends it. `ready` returns the addresses of now."""

    def __init__(self, ready):
        super().__init__(("127.0.0.1", 0), Answer)
        self.ready = ready

    def target(self, port):
        """Returns what gRPC asks for, to find servers of that port."""
        return f"dns://127.0.0.1:{self.server_address[1]}/{NAME}:{port}"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class Answer(socketserver.DatagramRequestHandler):

    def handle(self):
        asked = self.packet
        end = asked.index(0, HEADER) + 5  # of the name, then type and class
        addresses = (self.server.ready()
                     if asked[end - 4:end] == struct.pack(">HH", TYPE_A, CLASS_IN)
                     else [])
        self.wfile.write(asked[:2] + struct.pack(
            ">HHHHH", ANSWERS, 1, len(addresses), 0, 0) + asked[HEADER:end])
        for address in addresses:
            self.wfile.write(struct.pack(">HHHIH", FIRST_QUESTION, TYPE_A, CLASS_IN,
                                         TTL_S, 4) +
                             ipaddress.IPv4Address(address).packed)
