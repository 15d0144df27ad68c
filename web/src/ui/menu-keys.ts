/** Moves the focus within a menu by the arrows, Home and End, and by typing how an item begins. */
export function handleMenuKey(event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void {
  const items = [...event.currentTarget.querySelectorAll<HTMLElement>('[role^=menuitem]')];
  const current = items.findIndex((item) => item === document.activeElement);
  const next = routeOf(event, items, current);
  if (next === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  items.at(next)?.focus();
}

function routeOf(event: KeyboardEvent, items: readonly HTMLElement[], current: number): number | undefined {
  switch (event.key) {
    case 'ArrowDown':
      return (current + 1) % items.length;
    case 'ArrowUp':
      return current <= 0 ? -1 : current - 1;
    case 'Home':
      return 0;
    case 'End':
      return -1;
    default:
      return isCharacter(event) ? beginningWith(typed(event), items, current) : undefined;
  }
}

const isCharacter = ({ key, ctrlKey, metaKey, altKey }: KeyboardEvent) =>
  key.length === 1 && key !== ' ' && !ctrlKey && !metaKey && !altKey;

/** Milliseconds after which typing begins a new word. */
const PAUSE = 600;
let last = { text: '', at: 0 };

/** What was typed without a pause. The same letter again and again stays one, and leads from item to item. */
function typed({ key, timeStamp }: KeyboardEvent): string {
  const isGoingOn = timeStamp - last.at < PAUSE && last.text !== key;
  last = { text: isGoingOn ? last.text + key : key, at: timeStamp };
  return last.text.toLocaleLowerCase();
}

/** The next item that begins so; a word that is being typed may be that of the current one. */
function beginningWith(text: string, items: readonly HTMLElement[], current: number): number | undefined {
  const first = text.length > 1 ? Math.max(current, 0) : current + 1;
  const places = items.map((_, index) => (first + index) % items.length);
  return places.find((place) => items[place]?.textContent.trim().toLocaleLowerCase().startsWith(text));
}
