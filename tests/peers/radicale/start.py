"""Starts Radicale with the settings of the course's services: what those read from a variable, it reads from its command line."""

import hashlib
import json
import os
import sys
from pathlib import Path
from urllib.parse import urlsplit

# One for each user, made when they first sign in.
BOOKS = {"contacts": {"D:displayname": "contacts", "tag": "VADDRESSBOOK"}}

# Its own names for what LOG_LEVEL knows.
LEVELS = {"error": "error", "warn": "warning", "info": "info", "debug": "debug", "trace": "debug"}


def main() -> None:
    variables = [os.environ.get(name) for name in ("CONTACTS_USERS", "DATABASE_URL", "STORAGE")]
    if None in variables:
        sys.exit("CONTACTS_USERS, DATABASE_URL and STORAGE must be set.")
    users, database, storage = variables
    # A database of its own is a storage of its own here, and the same one is found again after a restart, by whatever address.
    name = urlsplit(database).path
    folder = Path(storage, hashlib.sha256(name.encode()).hexdigest()[:16])
    folder.mkdir(parents=True, exist_ok=True)
    options = {
        "config": "",
        "server-hosts": f"{os.environ.get('ADDRESS', '127.0.0.1')}:{os.environ.get('PORT', '8080')}",
        # The default is 8. Each is a thread.
        "server-max-connections": "100",
        "auth-type": "htpasswd",
        "auth-htpasswd-filename": str(password_file(folder, users)),
        # The other services compare passwords without a hash as well.
        "auth-htpasswd-encryption": "plain",
        "storage-filesystem-folder": str(folder / "collections"),
        "storage-predefined-collections": json.dumps(BOOKS),
        "logging-level": LEVELS.get(os.environ.get("LOG_LEVEL", "warn"), "warning"),
    }
    arguments = [word for name, value in options.items() for word in (f"--{name}", value)]
    # In place of this process, so that a signal reaches Radicale.
    os.execv(sys.executable, [sys.executable, "-m", "radicale", *arguments])


def password_file(folder: Path, users: str) -> Path:
    """The users in a file, a line for each, that only this user can read."""
    file = folder / "users"
    file.touch(mode=0o600)
    file.write_text("".join(f"{user}\n" for user in users.split(",")), encoding="utf-8")
    return file


if __name__ == "__main__":
    main()
