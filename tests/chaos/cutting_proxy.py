"""CuttingProxy passes TCP connections on, and cuts each after a number of bytes of
one direction that a seed gives: by a reset, or by an end in order."""

import contextlib
import random
import select
import socket
import struct
import threading

PIECE = 4096
MOST_BYTES = 40_000  # of a connection before it is cut
NO_LINGER = struct.pack("ii", 1, 0)  # with it close() resets


class CuttingProxy:
    """Listens on 127.0.0.1 from when it is made; `with` ends it."""

    def __init__(self, target, seed):
        self.target = target
        self.cuts = 0
        self._random = random.Random(seed)
        self._is_over = False
        self._threads = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.settimeout(0.1)
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self._acceptor = threading.Thread(target=self._accept)
        self._acceptor.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._is_over = True
        self._acceptor.join()
        self._listening.close()
        for thread in self._threads:
            thread.join()

    def _accept(self):
        while not self._is_over:
            with contextlib.suppress(TimeoutError):
                client, _ = self._listening.accept()
                client.settimeout(None)
                self._threads.append(threading.Thread(
                    target=self._pass_on,
                    args=(client, self._random.randrange(2),
                          self._random.randrange(MOST_BYTES),
                          self._random.random() < 0.5)))
                self._threads[-1].start()

    def _pass_on(self, client, direction, most, reset):
        """Cuts once so much has come from the client, 0, or the server, 1."""
        with client, socket.create_connection(("127.0.0.1", self.target)) as server:
            sides = (client, server)
            while most > 0 and not self._is_over:
                for one in select.select(sides, [], [], 0.1)[0]:
                    from_server = one is server
                    counts = from_server == direction
                    try:
                        piece = one.recv(min(PIECE, most) if counts else PIECE)
                        if not piece:
                            return
                        sides[not from_server].sendall(piece)
                    except OSError:
                        return
                    most -= len(piece) if counts else 0
            self.cuts += most == 0
            if reset:
                for side in sides:
                    side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
