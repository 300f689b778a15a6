-- The journal is the truth. A row of `debates` repeats of it what listings need, so that no listing reads a journal,
-- and holds the epoch on which every append is conditional.
--
-- One SQL for SQLite and PostgreSQL: TEXT for ids and JSON, BIGINT for counts, milliseconds and truth values (0, 1).

CREATE TABLE debates (
    id TEXT NOT NULL PRIMARY KEY,
    protocol TEXT NOT NULL,
    state TEXT NOT NULL,
    epoch BIGINT NOT NULL,
    generation BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    ended_at BIGINT,
    calls BIGINT NOT NULL,
    retries BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    -- The sum of the prices that are known; it is the whole cost only while cost_known is 1.
    cost_usd DOUBLE PRECISION NOT NULL,
    cost_known BIGINT NOT NULL,
    rating BIGINT,
    -- The long columns come last: SQLite then finds and rewrites the short ones above without reading these.
    question TEXT NOT NULL,
    setup TEXT NOT NULL
);

CREATE INDEX debates_by_creation ON debates (created_at, id);

CREATE TABLE journal (
    debate_id TEXT NOT NULL REFERENCES debates (id) ON DELETE CASCADE,
    seq BIGINT NOT NULL,
    key TEXT NOT NULL,
    at BIGINT NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (debate_id, seq),
    UNIQUE (debate_id, key)
);
