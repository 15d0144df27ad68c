import { nameOf, ROOT } from '../paths.ts';
import type { Text } from './language.ts';

/** The name of a folder, which the root has for people alone. */
export function folderName(folder: string, { shell }: Pick<Text, 'shell'>): string {
  return folder === ROOT ? shell.root : nameOf(folder);
}
