import { isStoreError } from '../../domain/error.ts';
import type { Ability } from './abilities.ts';
import type { Bucket } from './bucket.ts';
import { codeOf } from './translate.ts';

/** The condition of a write, as command input. */
export interface ConditionHeaders {
  readonly IfMatch?: string;
  readonly IfNoneMatch?: string;
}

/**
 * Sends a conditional write. If the store does not support the condition, `check` tests the destination right before an
 * unconditional write. That write replaces objects that arrive in between.
 *
 * Some stores return 501 for conditions, and some return 412 although the condition holds. The condition counts as
 * unsupported if `check` passes after two 412 responses. After only one, the destination may have changed temporarily.
 *
 * @param check throws `condition-failed` unless the condition holds
 */
export async function sendConditionally<Output>(
  { abilities }: Pick<Bucket, 'abilities'>,
  ability: Extract<Ability, 'putConditions' | 'completeConditions'>,
  condition: ConditionHeaders,
  { check, send }: { check: () => Promise<void>; send: (condition: ConditionHeaders) => Promise<Output> },
): Promise<Output> {
  if (condition.IfMatch === undefined && condition.IfNoneMatch === undefined) return send({});
  let code: string | undefined;
  for (let attempt = 1; abilities.has(ability) && attempt <= 2; attempt++) {
    try {
      return await send(condition);
    } catch (error) {
      const isUnsupported = isStoreError(error, 'unsupported');
      if (!isUnsupported && !isStoreError(error, 'condition-failed')) throw error;
      code = codeOf(error.cause);
      if (isUnsupported) break;
      await check();
    }
  }
  await check();
  const output = await send({});
  abilities.lose(ability, { code });
  return output;
}
