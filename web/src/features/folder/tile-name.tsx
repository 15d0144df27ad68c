import type { Entry } from '../../platform/service/service.ts';
import { shownName } from '../../platform/text/names.ts';
import { fitName } from './fit-name.ts';
import { useMatches } from './use-matches.ts';

/** Pixels of a tile beside its name, and a reserve for the difference between measured and rendered text. */
const BESIDE_NAME = 26;

/** A name on up to two lines. The middle of a longer one is omitted, so that its end and its extension stay visible. */
export function TileName({ entry, tileWidth }: { entry: Entry; tileWidth: number }) {
  const name = shownName(entry.name);
  const mark = useMatches();
  const { lines, isCut } = fitName(name, tileWidth - BESIDE_NAME, measureText);
  return (
    <>
      {/* As one element, because screen readers would pause between the parts. */}
      <span class="visually-hidden">{name}</span>
      <bdi class={`entry-name ${isCut ? 'cut-name' : ''}`} title={entry.name} aria-hidden="true">
        {mark(lines)}
      </bdi>
    </>
  );
}

let context: CanvasRenderingContext2D | null | undefined;

/** Returns the width of a text in the font of the page, in pixels. */
function measureText(text: string): number {
  context ??= document.createElement('canvas').getContext('2d');
  if (!context) return 0;
  const { fontSize, fontFamily } = getComputedStyle(document.body);
  context.font = `${fontSize} ${fontFamily}`;
  return context.measureText(text).width;
}
