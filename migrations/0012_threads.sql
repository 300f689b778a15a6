-- Follow-ups: debates that continue another one.

-- The debate that it follows up on; '' if there is none. No foreign key: a follow-up outlives its parent.
ALTER TABLE debates ADD COLUMN parent_id TEXT NOT NULL DEFAULT '';

-- The follow-ups of a debate.
CREATE INDEX debates_by_parent ON debates (parent_id, created_at) WHERE parent_id <> '';
