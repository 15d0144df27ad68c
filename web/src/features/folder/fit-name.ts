import { splitName } from '../../platform/paths.ts';
import { endOf } from './name-end.ts';

/**
 * Shortens a name so that it fits on two lines of a width. `isCut`: the lines can break inside of words, because the text
 * would not fit otherwise.
 */
export function fitName(
  name: string,
  width: number,
  measure: (text: string) => number,
): { readonly lines: string; readonly isCut: boolean } {
  if (fitsByWords(name, width, measure)) return { lines: name, isCut: false };
  const whole = firstLineOf(name, width, measure);
  // A first line of whole words reads better, unless it leaves much of the line empty.
  const first = measure(whole) > width / 2 ? whole : '';
  const room = first === '' ? 2 * width : width;
  if (first === '' && measure(name) <= room) return { lines: name, isCut: true };
  const { stem, extension } = splitName(name.slice(first.length));
  const end = stem.slice(endOf(stem)) + extension;
  // Graphemes, so that no character is split.
  const head = Array.from(new Intl.Segmenter().segment(stem.slice(0, endOf(stem))), ({ segment }) => segment);
  let low = 0;
  let high = head.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (measure(`${head.slice(0, middle).join('')}…${end}`) <= room) low = middle;
    else high = middle - 1;
  }
  const last = `${head.slice(0, low).join('').trimEnd()}…${end}`;
  return { lines: first + last, isCut: first === '' || measure(last) > width };
}

/** Returns the words of a text that fit on one line; empty if the first one doesn't. */
function firstLineOf(text: string, width: number, measure: (text: string) => number): string {
  let line = '';
  for (const word of text.split(/(?<=[\s-])/)) {
    if (measure((line + word).trimEnd()) > width) break;
    line += word;
  }
  return line;
}

/** Returns whether a text fits on two lines that break after spaces and hyphens. */
function fitsByWords(text: string, width: number, measure: (text: string) => number): boolean {
  if (measure(text) <= width) return true;
  const first = firstLineOf(text, width, measure);
  return first !== '' && measure(text.slice(first.length)) <= width;
}
