import { isFolderPath, nameOf } from '../../platform/paths.ts';
import type { ServiceError } from '../../platform/service/service-error.ts';
import type { Text } from '../../platform/text/language.ts';
import { reasonOf } from '../../platform/text/reason.ts';

/** Files and folders in words: one by its name, several by how many they are. */
export function whatOf(paths: readonly string[], { changes }: Text): string {
  const [first = ''] = paths;
  if (paths.length === 1) return changes.one(nameOf(first));
  return countOf(paths, changes);
}

/** How many files, folders, or items of both kinds. */
export function countOf(paths: readonly string[], { many }: Text['changes']): string {
  const folders = paths.filter(isFolderPath).length;
  const kind = folders === 0 ? 'file' : folders === paths.length ? 'folder' : 'item';
  return many[kind](paths.length);
}

/** The most different reasons that are told of a change that failed in part. */
const MAX_REASONS = 5;

/** Why several failed: each reason once, a line each. */
export function reasonsOf(errors: readonly ServiceError[], text: Text): string {
  const reasons = [...new Set(errors.map((error) => reasonOf(error, text)))];
  const more = reasons.length - MAX_REASONS;
  return [...reasons.slice(0, MAX_REASONS), ...(more > 0 ? [text.changes.more(more)] : [])].join('\n');
}
