"""Whether a client may move to another path. Nothing of aioquic is imported here."""

from .settings import NotSupported


def may_move(is_forbidden, has_preferred_address, spare_ids):
    """Whether it may go on from another port of its own. Raises NotSupported where it must stay where it is."""
    # aioquic moves to a preferred address by itself. That is allowed, and lifts the prohibition (RFC 9000 section 18.2).
    if has_preferred_address:
        return spare_ids > 0
    if is_forbidden:
        raise NotSupported("connectionmigration: the server forbids it by disable_active_migration (RFC 9000 section 9)")
    if spare_ids == 0:
        raise NotSupported("connectionmigration: the server has given no spare connection ID (RFC 9000 section 5.1.1)")
    return True
