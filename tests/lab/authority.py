# SPDX-License-Identifier: Apache-2.0
"""Certificates and kubeconfigs: what the TLS of a cluster is made of, good or wrong on purpose."""

import datetime
import ipaddress
from collections import namedtuple
from pathlib import Path

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAY = datetime.timedelta(days=1)
HOUR = datetime.timedelta(hours=1)

# The files of a certificate and of its key.
Pair = namedtuple("Pair", "certificate key")


def write_key(path):
    """Makes a key and returns it; the file is in the form that Kubernetes reads."""
    key = ec.generate_private_key(ec.SECP256R1())
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )
    path.chmod(0o600)
    return key


def write_certificate(path, certificate):
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))


def general_name(host):
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def builder(subject, issuer, key, begin, end):
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(end)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


class Authority:
    """A certificate authority; its files are in a folder."""

    def __init__(self, folder, name="ca"):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.certificate = self.folder / f"{name}.crt"
        self.subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"lab {name}")])
        self.private = write_key(self.folder / f"{name}.key")
        now = datetime.datetime.utcnow()
        unsigned = builder(self.subject, self.subject, self.private, now - HOUR, now + DAY)
        unsigned = unsigned.add_extension(x509.BasicConstraints(True, None), critical=True)
        write_certificate(self.certificate, unsigned.sign(self.private, hashes.SHA256()))

    def issue(self, name, user=None, groups=(), hosts=(), begin=-HOUR, end=DAY):
        """A certificate in NAME.crt: for a user ("": nobody) and groups as Kubernetes understands them, or a
        server of these names and addresses. `begin`, `end`: of its validity, from now."""
        pair = Pair(self.folder / f"{name}.crt", self.folder / f"{name}.key")
        attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        if user != "":
            attributes.append(x509.NameAttribute(NameOID.COMMON_NAME, user or name))
        now = datetime.datetime.utcnow()
        key = write_key(pair.key)
        unsigned = builder(x509.Name(attributes), self.subject, key, now + begin, now + end)
        if hosts:
            names = x509.SubjectAlternativeName([general_name(host) for host in hosts])
            unsigned = unsigned.add_extension(names, critical=False)
        write_certificate(pair.certificate, unsigned.sign(self.private, hashes.SHA256()))
        return pair


def write_kubeconfig(path, server, ca, user, **cluster):
    """A kubeconfig of one context. `user`: a Pair, or the fields of a user entry."""
    if isinstance(user, Pair):
        user = {"client-certificate": str(user.certificate), "client-key": str(user.key)}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "lab",
        "clusters": [{
            "name": "lab",
            "cluster": {"server": server, "certificate-authority": str(ca), **cluster},
        }],
        "users": [{"name": "lab", "user": user}],
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "lab"}}],
    }
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path
