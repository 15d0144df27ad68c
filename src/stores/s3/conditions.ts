import { isStoreError } from '../../domain/error.ts';
import type { Ability } from './abilities.ts';
import type { Bucket } from './bucket.ts';
import { codeOf } from './translate.ts';

/** The condition of a write as the commands take it. */
export interface ConditionHeaders {
  readonly IfMatch?: string;
  readonly IfNoneMatch?: string;
}

/**
 * Sends a write under a condition. Where the store does not support it, `check` looks at the destination right before
 * the write, which is then sent without the condition: what arrives in between is replaced.
 *
 * Some stores return 501 for conditions, and some return 412 though the condition holds. A 412 counts as such if `check`
 * passes after it, twice: once, the destination may have been changed and changed back.
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
