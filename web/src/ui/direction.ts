/** Returns whether the page reads from right to left. */
export const isRightToLeft = () => document.dir === 'rtl';

/** Returns the arrow keys that move to the previous and to the next item of a row. */
export function rowKeys(): { readonly previous: string; readonly next: string } {
  const [left, right] = ['ArrowLeft', 'ArrowRight'] as const;
  return isRightToLeft() ? { previous: right, next: left } : { previous: left, next: right };
}
