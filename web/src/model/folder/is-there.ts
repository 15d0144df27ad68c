import type { Folder } from './folder.ts';

/**
 * Whether the folder that is shown is known to be there: only then is anything put into it, since the service would
 * create a folder that is not.
 */
export function isThere({ state, problem }: Pick<Folder, 'state' | 'problem'>): boolean {
  return state.value === 'ready' && !problem.value?.isNotFound;
}
