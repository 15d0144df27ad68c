import { splitName } from '../paths.ts';
import type { Entry } from '../service/service.ts';
import { shownName } from '../text/shown-name.ts';

/** The name of an entry, on one line: where it is too long, its beginning and its extension, which tells as much. */
export function EntryName({ entry }: { entry: Entry }) {
  const name = shownName(entry.name);
  const { stem, extension } = entry.type === 'file' ? splitName(name) : { stem: name, extension: '' };
  return (
    <>
      {/* In one piece: the parts would be read with a pause between them. */}
      <span class="visually-hidden">{name}</span>
      <bdi class="entry-name" title={entry.name} aria-hidden="true">
        <span class="stem">{stem}</span>
        <span class="extension">{extension}</span>
      </bdi>
    </>
  );
}
