/**
 * PostgreSQL: counts calls of several accounts in one statement and one transaction. Accounts come once each and sorted,
 * so that two servers lock them in the same order. The answer says how many of the calls asked for were let in.
 */
export const chargeFunction = `
CREATE OR REPLACE FUNCTION portcullis_charge(ids TEXT[], wanted BIGINT[], months TEXT[], ats BIGINT[], plans JSONB)
RETURNS TABLE (id TEXT, granted BIGINT, trial_ended BOOLEAN, plan_limit BIGINT, plan_used BIGINT, bought_left BIGINT)
LANGUAGE plpgsql AS $$
DECLARE
  i INT;
  account accounts%ROWTYPE;
  months_limit BIGINT;
  had BIGINT;
  by_plan BIGINT;
  by_overage BIGINT;
BEGIN
  FOR i IN 1 .. coalesce(array_length(ids, 1), 0) LOOP
    SELECT * INTO account FROM accounts a WHERE a.id = ids[i] FOR UPDATE;
    CONTINUE WHEN NOT FOUND;
    months_limit := (plans -> account.plan ->> 'calls')::BIGINT;
    SELECT u.used INTO had FROM usage_months u WHERE u.account_id = ids[i] AND u.month = months[i];
    had := coalesce(had, 0);
    by_plan := 0;
    by_overage := 0;
    trial_ended := coalesce((plans -> account.plan ->> 'trial')::BOOLEAN, FALSE)
      AND account.trial_ends_at IS NOT NULL AND ats[i] >= account.trial_ends_at;
    IF months_limit IS NOT NULL AND NOT trial_ended THEN
      by_plan := greatest(0, least(wanted[i], months_limit - had));
      by_overage := least(wanted[i] - by_plan, account.overage_left);
      IF by_plan + by_overage > 0 THEN
        INSERT INTO usage_months AS u (account_id, month, used, overage_used)
        VALUES (ids[i], months[i], by_plan, by_overage)
        ON CONFLICT (account_id, month)
        DO UPDATE SET used = u.used + by_plan, overage_used = u.overage_used + by_overage;
      END IF;
      IF by_overage > 0 THEN
        UPDATE accounts a SET overage_left = a.overage_left - by_overage WHERE a.id = ids[i];
      END IF;
    END IF;
    id := ids[i];
    granted := by_plan + by_overage;
    plan_limit := months_limit;
    plan_used := had + by_plan;
    bought_left := account.overage_left - by_overage;
    RETURN NEXT;
  END LOOP;
END $$`;
