-- Who runs a debate, where the processes that could are on several machines. On SQLite a lock file of the system says it
-- better, and what is here is not used, except for the budget.

-- The process that has claimed the debate; '' where nobody has. It counts only while that process lives.
ALTER TABLE debates ADD COLUMN owner TEXT NOT NULL DEFAULT '';

-- What it is to go on with, as JSON, where that is another budget than it was opened with: whoever goes on must know.
ALTER TABLE debates ADD COLUMN budget TEXT NOT NULL DEFAULT '';

-- A process that claims debates says every few seconds that it lives: one row for it, however many debates it runs.
CREATE TABLE owners (
    id TEXT NOT NULL PRIMARY KEY,
    -- Until when it is taken to live, by the clock of the database.
    lives_until BIGINT NOT NULL
);

-- What somebody at one server wants of a debate that another process runs: say something, pause, cancel. Gone once answered.
CREATE TABLE orders (
    id TEXT NOT NULL PRIMARY KEY,
    debate_id TEXT NOT NULL REFERENCES debates (id) ON DELETE CASCADE,
    wish TEXT NOT NULL,
    -- NULL until somebody has taken it, '' while they are at it, then JSON.
    answer TEXT
);

CREATE INDEX orders_by_debate ON orders (debate_id);
