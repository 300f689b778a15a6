-- Who may see and spend what, and who did what.

-- The token that created the debate; '' for debates of the command line, of an open server and of earlier versions. No foreign
-- key: a debate outlives its token.
ALTER TABLE debates ADD COLUMN token_id TEXT NOT NULL DEFAULT '';

CREATE INDEX debates_by_token ON debates (token_id, created_at);

-- 'own': only debates that the token created; 'all': every debate.
ALTER TABLE tokens ADD COLUMN reach TEXT NOT NULL DEFAULT 'all';

-- Limits as JSON; '' without limits.
ALTER TABLE tokens ADD COLUMN limits TEXT NOT NULL DEFAULT '';

-- Costs of a token that are in no debate: test calls, and debates that were deleted.
CREATE TABLE other_costs (
    id TEXT NOT NULL PRIMARY KEY,
    token_id TEXT NOT NULL,
    at BIGINT NOT NULL,
    cost_usd DOUBLE PRECISION NOT NULL
);

CREATE INDEX other_costs_by_token ON other_costs (token_id, at);

-- The audit log. Append-only: triggers refuse to change or delete rows. '' where a value does not apply.
CREATE TABLE audit_log (
    number BIGINT NOT NULL PRIMARY KEY,
    at BIGINT NOT NULL,
    who TEXT NOT NULL,
    via TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    outcome TEXT NOT NULL,
    address TEXT NOT NULL,
    request_id TEXT NOT NULL,
    detail TEXT NOT NULL
);
