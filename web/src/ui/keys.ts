/*
 * Keys are written as `mod+shift+c`: `mod` is Ctrl, and ⌘ on a Mac; the last part is the `key` of a keyboard event,
 * small letters for letters.
 */

export const isMac = /mac|iphone|ipad/i.test(navigator.platform);

/** Whether an event of the keyboard is one of the keys. */
export function isKey(event: KeyboardEvent, keys: readonly string[]): boolean {
  return keys.some((key) => key === pressed(event));
}

/** The keys of an event. Shift tells nothing of its own where it makes another character, such as `?`. */
export function pressed(event: KeyboardEvent): string {
  // ⌥ on a Mac and keyboards of other scripts type other characters than the letters of the shortcuts.
  const isLatin = /^[a-z]$/i.test(event.key);
  const letter = hasModifier(event) && !isLatin ? /^Key([A-Z])$/.exec(event.code)?.[1] : undefined;
  const key = letter?.toLowerCase() ?? (event.key.length === 1 ? event.key.toLowerCase() : event.key);
  const isCharacter = event.key.length === 1 && !/[a-z ]/i.test(event.key);
  return [
    (isMac ? event.metaKey : event.ctrlKey) && 'mod',
    (isMac ? event.ctrlKey : event.metaKey) && 'other',
    event.altKey && 'alt',
    event.shiftKey && !isCharacter && 'shift',
    key,
  ]
    .filter(Boolean)
    .join('+');
}

const hasModifier = ({ altKey, ctrlKey, metaKey }: KeyboardEvent) => altKey || ctrlKey || metaKey;

const NAMES: Readonly<Record<string, string>> = {
  ArrowUp: '↑',
  ArrowDown: '↓',
  ArrowLeft: '←',
  ArrowRight: '→',
  Escape: 'Esc',
  ' ': 'Space',
  PageUp: 'Page Up',
  PageDown: 'Page Down',
  ContextMenu: 'Menu',
};

/** As `aria-keyshortcuts` has it: `Control+C`, or `Meta+C` on a Mac. */
export function ariaKeys(keys: string): string {
  const words: Readonly<Record<string, string>> = { mod: isMac ? 'Meta' : 'Control', alt: 'Alt', shift: 'Shift' };
  const [key = '', ...modifiers] = keys.split('+').toReversed();
  const name = key === ' ' ? 'Space' : key.length === 1 ? key.toUpperCase() : key;
  return [...modifiers.map((modifier) => words[modifier] ?? modifier).toReversed(), name].join('+');
}

/** As it is shown to a person: `Ctrl+C`, or `⌘C` on a Mac. */
export function keyLabel(keys: string): string {
  const parts = keys.split('+');
  const key = parts.at(-1) ?? '';
  const shown = NAMES[key] ?? (key.length === 1 ? key.toUpperCase() : key);
  const modifiers = parts.slice(0, -1);
  if (isMac) {
    const signs: Readonly<Record<string, string>> = { mod: '⌘', alt: '⌥', shift: '⇧' };
    return [...modifiers.map((modifier) => signs[modifier] ?? ''), shown].join('');
  }
  const words: Readonly<Record<string, string>> = { mod: 'Ctrl', alt: 'Alt', shift: 'Shift' };
  return [...modifiers.map((modifier) => words[modifier] ?? modifier), shown].join('+');
}
