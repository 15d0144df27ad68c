import { nameOf } from '../../platform/paths.ts';
import type { ServiceError } from '../../platform/service/service-error.ts';
import type { FullLanguage } from '../../platform/text/language.ts';

/** Returns the parameters of a message about files and folders, which names a single one and counts several. */
export function subjectOf(paths: readonly string[]): { readonly count: number; readonly name: string } {
  return { count: paths.length, name: nameOf(paths[0] ?? '') };
}

/** The most different reasons that are told of a change that failed in part. */
const MAX_REASONS = 5;

/** Why several failed: each reason once, a line each. */
export function reasonsOf(errors: readonly ServiceError[], language: FullLanguage): string {
  const reasons = [...new Set(errors.map((error) => language.reasonOf(error)))];
  const more = reasons.length - MAX_REASONS;
  return [...reasons.slice(0, MAX_REASONS), ...(more > 0 ? [language.text.changes.more({ count: more })] : [])].join(
    '\n',
  );
}
