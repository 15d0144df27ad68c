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
  const room = 2 * width;
  if (measure(name) <= room) return { lines: name, isCut: true };
  const { stem, extension } = splitName(name);
  const end = name.slice(endOf(stem), stem.length) + extension;
  // Graphemes, so that no character is split.
  const head = Array.from(new Intl.Segmenter().segment(stem.slice(0, endOf(stem))), ({ segment }) => segment);
  let low = 0;
  let high = head.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (measure(`${head.slice(0, middle).join('')}…${end}`) <= room) low = middle;
    else high = middle - 1;
  }
  return { lines: `${head.slice(0, low).join('').trimEnd()}…${end}`, isCut: true };
}

/** Returns whether a text fits on two lines that break after spaces and hyphens. */
function fitsByWords(text: string, width: number, measure: (text: string) => number): boolean {
  if (measure(text) <= width) return true;
  let first = '';
  const words = text.split(/(?<=[\s-])/);
  while (words[0] !== undefined && measure((first + words[0]).trimEnd()) <= width) first += words.shift();
  return first !== '' && measure(words.join('')) <= width;
}
