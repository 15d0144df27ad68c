import assert from 'node:assert/strict';
import { isFullForm } from './full-forms.ts';

/** Returns the entries of all cases in the full form, otherwise of the cases with these names, one of each kind. */
export function representatives<Case>(
  all: Readonly<Record<string, Case>>,
  ...names: readonly string[]
): readonly (readonly [name: string, Case])[] {
  const unknown = names.filter((name) => !Object.hasOwn(all, name));
  assert.deepEqual(unknown, [], 'Every representative is one of the cases.');
  const entries = Object.entries(all);
  return isFullForm ? entries : entries.filter(([name]) => names.includes(name));
}
