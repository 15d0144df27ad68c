import { splitName } from '../../platform/paths.ts';
import type { Entry } from '../../platform/service/service.ts';
import { shownName } from '../../platform/text/shown-name.ts';

/**
 * The name of an entry. The end of a long name stays visible, because cameras and scanners create names that differ
 * only there. Tiles show the end on a second line.
 */
export function EntryName({ entry }: { entry: Entry }) {
  const name = shownName(entry.name);
  const { stem, extension } = entry.type === 'file' ? splitName(name) : { stem: name, extension: '' };
  const end = endOf(stem);
  return (
    <>
      {/* As one element, because screen readers would pause between the parts. */}
      <span class="visually-hidden">{name}</span>
      <bdi class="entry-name" title={entry.name} aria-hidden="true">
        <span class="stem">{stem.slice(0, end)}</span>
        <span class="tail">{stem.slice(end) + extension}</span>
      </bdi>
    </>
  );
}

/**
 * The maximum and the default length of the part of a stem that stays with the extension. The default applies without
 * a separator.
 */
const LONGEST_END = 14;
const USUAL_END = 8;

/** Returns the index at which the end of a stem begins: after a separator if possible, and never inside a character. */
function endOf(stem: string): number {
  const earliest = Math.max(0, stem.length - LONGEST_END);
  const separator = stem.slice(earliest, -1).search(/[\s_.-]/);
  if (separator >= 0) return earliest + separator + 1;
  let end = Math.max(0, stem.length - USUAL_END);
  while (end > 0 && (CONTINUES.test(stem.slice(end)) || stem[end - 1] === JOINER)) end -= 1;
  return end;
}

/** Matches code units that continue a character: low surrogates, marks, joiners and variation selectors. */
const CONTINUES = /^[\udc00-\udfff\p{M}\p{Cf}\p{Emoji_Modifier}]/u;
const JOINER = '\u200d';
