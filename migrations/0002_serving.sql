-- What a server needs beyond the debates themselves.

-- 1 where a server runs the debate: only those are taken up again by themselves when a server starts.
ALTER TABLE debates ADD COLUMN served BIGINT NOT NULL DEFAULT 0;

CREATE INDEX debates_by_state ON debates (state, created_at);

-- Whoever may use the server. The token itself is shown once and kept nowhere; this is its SHA-256.
CREATE TABLE tokens (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    scope TEXT NOT NULL,
    hash TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

-- Which request made which debate, so that one that is sent twice makes one.
CREATE TABLE requests (
    key TEXT NOT NULL PRIMARY KEY,
    fingerprint TEXT NOT NULL,
    debate_id TEXT NOT NULL REFERENCES debates (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL
);

-- Browsers that have signed in with a token. As with tokens, only the hash of what the browser holds is kept.
CREATE TABLE sessions (
    hash TEXT NOT NULL PRIMARY KEY,
    token_id TEXT NOT NULL REFERENCES tokens (id) ON DELETE CASCADE,
    expires_at BIGINT NOT NULL
);
