import { nameOf } from '../../platform/paths.ts';
import type { ServiceError } from '../../platform/service/service-error.ts';
import type { FullLanguage } from '../../platform/text/language.ts';

/** Returns the parameters of a message about files and folders, which names a single one and counts several. */
export function subjectOf(paths: readonly string[]): { readonly count: number; readonly name: string } {
  return { count: paths.length, name: nameOf(paths[0] ?? '') };
}

/** The maximum number of different reasons in one message. */
const MAX_REASONS = 5;

/** Describes why several items failed: one line for each different reason. */
export function describeErrors(errors: readonly ServiceError[], language: FullLanguage): string {
  const reasons = [...new Set(errors.map((error) => language.reasonOf(error)))];
  const more = reasons.length - MAX_REASONS;
  return [...reasons.slice(0, MAX_REASONS), ...(more > 0 ? [language.text.changes.more({ count: more })] : [])].join(
    '\n',
  );
}
