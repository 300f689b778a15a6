-- Access control: expiry, rotation and last use of tokens, idle timeout of sessions, and facts that outlive the tokens.

-- NULL if the token does not expire.
ALTER TABLE tokens ADD COLUMN expires_at BIGINT;
-- Written at most once a minute. NULL if the token was never used.
ALTER TABLE tokens ADD COLUMN last_used_at BIGINT;
-- After a rotation, the hash of the previous secret and when it stops working.
ALTER TABLE tokens ADD COLUMN old_hash TEXT;
ALTER TABLE tokens ADD COLUMN old_valid_until BIGINT;

ALTER TABLE sessions ADD COLUMN created_at BIGINT NOT NULL DEFAULT 0;
-- Written at most once a minute.
ALTER TABLE sessions ADD COLUMN last_used_at BIGINT NOT NULL DEFAULT 0;
-- A session lasted 30 days from its sign-in.
UPDATE sessions SET created_at = expires_at - 2592000000, last_used_at = expires_at - 2592000000;

-- Facts about this database that a server checks at its start.
--   token-added       A token existed once: without tokens the server is closed, not open.
--   replaces-damaged  A damaged database was moved aside and this one began empty; `detail` is its path.
CREATE TABLE server_flags (
    name TEXT NOT NULL PRIMARY KEY,
    detail TEXT NOT NULL DEFAULT ''
);

INSERT INTO server_flags (name) SELECT 'token-added' FROM tokens LIMIT 1;
