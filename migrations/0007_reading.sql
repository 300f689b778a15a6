-- Indexes for queries that would otherwise read whole tables, and the expiry of commands.

-- The debates that a process has claimed: each heartbeat looks for claims that it has no lease for.
CREATE INDEX debates_by_owner ON debates (owner) WHERE owner <> '';

-- The latest debates of a protocol, for listings and estimates.
CREATE INDEX debates_by_protocol ON debates (protocol, state, created_at, id);

-- The forecasts with a resolution.
CREATE INDEX journal_of_resolutions ON journal (debate_id) WHERE kind = 'resolved';

-- Until when a command may be executed, on the clock of the database. Those sent before have no sender any more.
DELETE FROM orders;
ALTER TABLE orders ADD COLUMN expires_at BIGINT NOT NULL DEFAULT 0;
