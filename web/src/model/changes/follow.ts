import type { Entry } from '../../platform/service/service.ts';
import type { Folder } from '../folder/folder.ts';
import type { Selection } from '../selection.ts';

/** Has the focus and the selection be at the new paths of what they were at. To be called before that is shown. */
export function follow(
  { folder, selection }: { readonly folder: Folder; readonly selection: Selection },
  newPaths: ReadonlyMap<string, string>,
): void {
  const newPathOf = (path: string) => newPaths.get(path) ?? path;
  const selected = [...selection.paths.value];
  const { value: focused } = folder.focused;
  if (focused !== null) folder.focused.value = newPathOf(focused);
  if (!selected.some((path) => newPaths.has(path))) return;
  const [first, ...others] = selected.map(newPathOf);
  if (first !== undefined && others.length === 0) selection.only(first);
  else selection.set(selected.map(newPathOf));
}

/** Has the nearest entry that stays take the focus: the next one, else the one before. */
export function moveFocusOff(folder: Folder, gone: ReadonlySet<string>): void {
  const entries = folder.entries.value;
  const { value: focused } = folder.focused;
  if (focused === null || !gone.has(focused)) return;
  const stays = ({ path }: Entry) => !gone.has(path);
  const place = folder.indexOf(focused);
  const next = entries.slice(place + 1).find(stays) ?? entries.slice(0, Math.max(0, place)).findLast(stays);
  folder.focused.value = next?.path ?? null;
}
