/*
 * Keys are written as `mod+shift+c`: `mod` is Ctrl, and ⌘ on a Mac. The last part is the `key` of the keyboard event, with
 * letters in lower case.
 */

export const isMac = /mac|iphone|ipad/i.test(navigator.platform);

/** Returns whether a keyboard event is one of the keys. */
export function isKey(event: KeyboardEvent, keys: readonly string[]): boolean {
  return keys.includes(keysOf(event));
}

/** Returns the keys of an event. Omits `shift` if it produces another character, such as `?`. */
export function keysOf(event: KeyboardEvent): string {
  // With ⌥ on a Mac and on keyboards of other scripts, `key` is not the letter of the shortcut.
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

/** Returns keys as users read them: `Ctrl+C`, or `⌘C` on a Mac. `names` has the names of keys in the user's language. */
export function keyLabel(keys: string, names: Readonly<Record<string, string>> = {}): string {
  const parts = keys.split('+');
  const key = parts.at(-1) ?? '';
  const shown = names[key] ?? LABELS[key] ?? (key.length === 1 ? key.toUpperCase() : key);
  const modifiers = parts.slice(0, -1);
  if (isMac) {
    const signs: Readonly<Record<string, string>> = { mod: '⌘', ctrl: '⌃', alt: '⌥', shift: '⇧' };
    return [...modifiers.map((modifier) => signs[modifier] ?? ''), shown].join('');
  }
  const words: Readonly<Record<string, string>> = { mod: 'Ctrl', ctrl: 'Ctrl', alt: 'Alt', shift: 'Shift' };
  return [...modifiers.map((modifier) => words[modifier] ?? modifier), shown].join('+');
}

const LABELS: Readonly<Record<string, string>> = {
  ArrowUp: '↑',
  ArrowDown: '↓',
  ArrowLeft: '←',
  ArrowRight: '→',
  Escape: 'Esc',
  ' ': 'Space',
};

/** The keys of the command palette, which no text field uses. */
export const PALETTE_KEYS: readonly string[] = ['mod+k'];

/**
 * Returns whether the page as a whole handles a key, a paste or a drop: the user neither edits text nor has a modal
 * dialog open. The keys of the command palette also work in text fields.
 */
export function isForPage(event: Event): boolean {
  const key = event instanceof KeyboardEvent ? event : undefined;
  if (key?.isComposing || isModalOpen()) return false;
  return !isField(event.target) || (key !== undefined && isKey(key, PALETTE_KEYS));
}

/** Returns whether an element is a form field or editable text, or is inside it. */
export function isField(element: EventTarget | null): boolean {
  return element instanceof Element && element.closest('input, textarea, select, [contenteditable]') !== null;
}

/** Returns whether a modal dialog makes the page inert. Menus and the preview are modal dialogs, too. */
export function isModalOpen(): boolean {
  return document.querySelector('dialog:modal') !== null;
}

/** Returns whether the user has selected text of the page, which a copy then refers to. */
export function hasTextSelection(): boolean {
  return document.getSelection()?.isCollapsed === false;
}

export function clearTextSelection(): void {
  if (hasTextSelection()) document.getSelection()?.removeAllRanges();
}

/** Milliseconds without a letter after which the next letter begins another word. */
const PAUSE_MS = 800;

/** Finds items of a list by the beginning of their labels, while the user types it letter by letter. */
export class TypeAhead {
  #typed = '';
  #lastTime = Number.NEGATIVE_INFINITY;

  /**
   * Returns whether the user pressed the key within the pause after a letter, so a space continues the word. A busy page handles
   * keys later than they were pressed.
   */
  isTyping({ timeStamp }: Pick<KeyboardEvent, 'timeStamp'>): boolean {
    return timeStamp - this.#lastTime < PAUSE_MS;
  }

  /**
   * Adds the letter of the event to the typed ones. Returns the index of the item whose label begins with them; -1 if there is
   * none. Searches from `current` (-1 for none) to the end, and then from the start. If one letter is repeated, the search
   * begins after `current`.
   */
  find(
    event: Pick<KeyboardEvent, 'key' | 'timeStamp'>,
    current: number,
    count: number,
    labelOf: (index: number) => string | undefined,
  ): number {
    const letter = event.key;
    this.#typed = this.isTyping(event) ? this.#typed + letter : letter;
    this.#lastTime = event.timeStamp;
    const isRepeated = this.#typed === letter.repeat(this.#typed.length);
    const prefix = (isRepeated ? letter : this.#typed).toLocaleLowerCase();
    const first = Math.max(0, isRepeated ? current + 1 : current);
    for (let offset = 0; offset < count; offset++) {
      const index = (first + offset) % count;
      if (labelOf(index)?.toLocaleLowerCase().startsWith(prefix)) return index;
    }
    return -1;
  }

  /** Makes the next letter the first one of another word. */
  reset(): void {
    this.#lastTime = Number.NEGATIVE_INFINITY;
  }
}
