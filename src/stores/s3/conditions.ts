import { isStoreError } from '../../model/error.ts';
import type { Capability } from './abilities.ts';
import type { Bucket } from './bucket.ts';
import { codeOf } from './errors.ts';

/** The condition of a request, as command input. */
export interface ConditionHeaders {
  readonly IfMatch?: string;
  readonly IfNoneMatch?: string;
}

/** Returns the ability that a conditional write requires. Some stores support only one of the two headers. */
export const writeAbility = (operation: 'put' | 'complete', { IfMatch }: ConditionHeaders): Capability =>
  `${operation}${IfMatch === undefined ? 'IfNoneMatch' : 'IfMatch'}`;

/**
 * Sends a conditional request. If the store does not support the condition, `check` tests the object right before an
 * unconditional request. That request replaces or deletes objects that arrive in between.
 *
 * Some stores return 501 for conditions, and some return 412 although the condition holds. The condition counts as
 * unsupported if `check` passes after two such responses, and the store has never accepted the condition. After only
 * one, the object may have changed temporarily, or a proxy may have failed. A store that has accepted the condition is
 * right.
 *
 * @param check throws unless the condition holds
 */
export async function sendConditionally<Output>(
  { abilities }: Pick<Bucket, 'abilities'>,
  ability: Capability,
  condition: ConditionHeaders,
  { check, send }: { check: () => Promise<void>; send: (condition: ConditionHeaders) => Promise<Output> },
): Promise<Output> {
  if (condition.IfMatch === undefined && condition.IfNoneMatch === undefined) return send({});
  let code: string | undefined;
  for (let attempt = 1; abilities.has(ability) && attempt <= 2; attempt++) {
    try {
      const output = await send(condition);
      abilities.confirm(ability);
      return output;
    } catch (error) {
      const isUnsupported = isStoreError(error, 'unsupported');
      if (!isUnsupported && !isStoreError(error, 'condition-failed')) throw error;
      await check();
      if (abilities.isConfirmed(ability) && (attempt === 2 || !isUnsupported)) throw error;
      code = codeOf(error.cause);
    }
  }
  await check();
  const output = await send({});
  abilities.lose(ability, { code });
  return output;
}
