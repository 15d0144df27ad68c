import { StoreError, type StoreErrorCode } from '../model/error.ts';

/** Advice for the operator, by error code. */
export type AdviceTable = Readonly<Partial<Record<StoreErrorCode, string>>>;

/** Returns the advice for an error or its nearest cause that has advice; undefined if the table has none. */
export function findAdvice(error: unknown, table: AdviceTable): string | undefined {
  for (let current = error; current instanceof Error; current = current.cause) {
    const advice = current instanceof StoreError ? table[current.code] : undefined;
    if (advice !== undefined) return advice;
  }
  return undefined;
}
