/** The stored files and folders by path: the text of each file, as Latin-1, and null for each folder. */
export type Tree = Readonly<Record<string, string | null>>;

/** The effect of a successful request. The path of a folder ends with `/`. */
export type Effect =
  | { readonly does: 'store'; readonly path: string; readonly text: string | null }
  | { readonly does: 'remove'; readonly path: string }
  | { readonly does: 'copy' | 'move'; readonly path: string; readonly to: string };

/** Returns the expected tree after this effect. */
export function applyEffect(tree: Tree, effect: Effect): Tree {
  const { path } = effect;
  const taken = Object.entries(tree).filter(([each]) => isWithin(each, path));
  const left = Object.entries(tree).filter(([each]) => !isWithin(each, path));
  switch (effect.does) {
    case 'remove':
      return Object.fromEntries(left);
    case 'store':
      // An existing folder remains unchanged.
      if (effect.text === null && taken.length > 0) return tree;
      return Object.fromEntries([...left, ...foldersAbove(path), [path, effect.text]]);
    case 'copy':
    case 'move': {
      const staying = effect.does === 'copy' ? [...left, ...taken] : left;
      const placed = taken.map(([each, text]) => [effect.to + each.slice(path.length), text]);
      const kept = staying.filter(([each]) => !isWithin(each, effect.to));
      return Object.fromEntries([...kept, ...foldersAbove(effect.to), ...placed]);
    }
  }
}

/** Returns whether a path is `place`, or below it if that is a folder. */
const isWithin = (path: string, place: string) => path === place || (place.endsWith('/') && path.startsWith(place));

function foldersAbove(path: string): [string, null][] {
  const names = path.replace(/\/$/, '').split('/').slice(0, -1);
  return names.map((_, index) => [`${names.slice(0, index + 1).join('/')}/`, null]);
}
