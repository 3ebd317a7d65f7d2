"""`arci sign` and `arci verify`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from arci.cli import options
from arci.errors import EXIT_ERROR

__all__ = ["sign", "verify"]

_file = click.Path(dir_okay=False, path_type=Path)


@click.command()
@options.run_directory
@click.option("--key", required=True, type=_file, help="Ed25519 private key: OpenSSH (as in ~/.ssh) or PEM.")
@options.as_json
def sign(run: Path, key: Path, json_: bool) -> None:
    """Re-check the recorded RUN, decide it, and write a signature over all of it beside it, into `signature.json`.

    The passphrase of an encrypted key is taken from ARCI_KEY_PASSPHRASE.
    """
    from arci.sign.sign import sign_run
    from arci.store.writer import utc_now

    signed = sign_run(run, key, env=os.environ, at=utc_now())
    if json_:
        options.emit_json({"file": str(signed.file), "fingerprint": signed.fingerprint, **signed.statement})
    else:
        click.echo(f"{signed.file}: {len(signed.statement['files'])} files signed by {signed.fingerprint}")


@click.command()
@options.run_directory
@click.option("--key", type=_file, help="The signer's public key: an SSH .pub file, or PEM.")
@click.option("--signers", type=_file, help="File of allowed signers, as `ssh-keygen -Y verify -f` reads it.")
@click.option("--signer", metavar="NAME", help="Who of --signers must have signed; any of them otherwise.")
@options.as_json
def verify(run: Path, key: Path | None, signers: Path | None, signer: str | None, json_: bool) -> None:
    """Verify that RUN is what was signed, by whom, that every digest holds, and that its decision follows.

    Exits 0 if all of it holds, 3 if anything does not, naming it; whatever the verdict is.
    """
    from arci.report.signed import verified_document, verified_text
    from arci.sign.keys import allowed_signers, public_key
    from arci.sign.verify import Trusted, verify_run

    if signer is not None and signers is None:
        raise click.UsageError("--signer names one of --signers, which must be given too.")
    trusted = Trusted(
        None if key is None else public_key(key), None if signers is None else allowed_signers(signers), signer
    )
    found = verify_run(run, trusted)
    if json_:
        options.emit_json(verified_document(found, trusted))
    else:
        click.echo(verified_text(found, trusted), nl=False)
    raise SystemExit(EXIT_ERROR if found.problems else 0)
