-- Read-only links to debates, and how readers file debates. Deleting a debate deletes all of it.

-- A link. Only the SHA-256 of its secret is stored.
CREATE TABLE shares (
    id TEXT NOT NULL PRIMARY KEY,
    debate_id TEXT NOT NULL REFERENCES debates (id) ON DELETE CASCADE,
    hash TEXT NOT NULL UNIQUE,
    -- Who made it; '' if no name is known.
    made_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    -- NULL if it does not expire.
    expires_at BIGINT
);

CREATE INDEX shares_of_debate ON shares (debate_id, created_at);

CREATE TABLE pins (
    debate_id TEXT NOT NULL PRIMARY KEY REFERENCES debates (id) ON DELETE CASCADE
);

CREATE TABLE tags (
    debate_id TEXT NOT NULL REFERENCES debates (id) ON DELETE CASCADE,
    tag TEXT NOT NULL,
    PRIMARY KEY (debate_id, tag)
);

CREATE INDEX debates_by_tag ON tags (tag, debate_id);

-- A search looks at answers: the last entries of debates.
CREATE INDEX journal_ends ON journal (debate_id) WHERE kind = 'ended';
