-- Test calls of models. They belong to no debate; their limits hold for all servers of a database together.

-- Rows older than an hour are deleted by the next call.
CREATE TABLE test_calls (
    id TEXT NOT NULL PRIMARY KEY,
    at BIGINT NOT NULL,
    -- Until the call ends: the most that it can use.
    tokens BIGINT NOT NULL,
    -- NULL if the price is unknown.
    cost_usd DOUBLE PRECISION
);

CREATE INDEX test_calls_by_time ON test_calls (at);
