-- Who runs a debate, where the processes that could are on several machines. On SQLite a lock file of the system says it
-- better, and neither the column nor the table is used.

-- The process that has claimed the debate; '' where nobody has. It counts only while that process lives.
ALTER TABLE debates ADD COLUMN owner TEXT NOT NULL DEFAULT '';

CREATE INDEX debates_by_owner ON debates (owner);

-- A process that claims debates says every few seconds that it lives: one row for it, however many debates it runs.
CREATE TABLE owners (
    id TEXT NOT NULL PRIMARY KEY,
    -- Until when it is taken to live, by the clock of the database.
    lives_until BIGINT NOT NULL
);
