"""Certificates for the system tests and benchmarks, made as docs/remote.md says: with the program openssl; and the client that
shows one."""

import os
import subprocess

from kprof_testing import KPROFCTL, Client


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Authority:
    """An authority in a folder of its own."""

    def __init__(self, folder, name):
        self.folder = os.path.join(folder, name.replace(" ", "-"))
        os.makedirs(self.folder)
        self.pem = os.path.join(self.folder, "ca.pem")
        self.key = os.path.join(self.folder, "ca.key")
        self.revoked = os.path.join(self.folder, "revoked.pem")
        self._config = os.path.join(self.folder, "ca.conf")
        with open(os.path.join(self.folder, "index"), "w", encoding="ascii"):
            pass
        with open(self._config, "w", encoding="ascii") as file:
            file.write(f"[ca]\ndefault_ca = own\n[own]\ndatabase = {self.folder}/index\ndefault_md = sha256\n"
                       "default_crl_days = 30\n")
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-days", "30",
                "-subj", "/CN=" + name, "-addext", "keyUsage=critical,keyCertSign,cRLSign",
                "-keyout", self.key, "-out", self.pem)

    def issue(self, name, usage="clientAuth", alternatives="", days=7):
        """The paths (certificate, key). Of `days` -1 it expired yesterday."""
        base = os.path.join(self.folder, name)
        with open(base + ".ext", "w", encoding="ascii") as file:
            file.write(f"extendedKeyUsage = {usage}\n" + (f"subjectAltName = {alternatives}\n" if alternatives else ""))
        openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-subj", "/CN=" + name,
                "-keyout", base + ".key", "-out", base + ".csr")
        openssl("x509", "-req", "-in", base + ".csr", "-CA", self.pem, "-CAkey", self.key, "-CAcreateserial",
                "-days", str(days), "-extfile", base + ".ext", "-out", base + ".pem")
        os.chmod(base + ".key", 0o600)
        return base + ".pem", base + ".key"

    def revoke(self, *certificates):
        """Writes the list of all that were ever revoked."""
        for certificate in certificates:
            openssl("ca", "-config", self._config, "-keyfile", self.key, "-cert", self.pem, "-revoke", certificate)
        openssl("ca", "-config", self._config, "-keyfile", self.key, "-cert", self.pem, "-gencrl", "-out", self.revoked)


class RemoteClient(Client):
    """kprofctl for a node, as it would be called on another one."""

    def __init__(self, address, ca, certificate, key):
        super().__init__(None)
        self.options = ("--node", address, "--ca", ca, "--cert", certificate, "--key", key)

    def command(self, *args):
        return [KPROFCTL, *self.options, *args]
