/**
 * Returns whether a click on a link is for the page. With another button or a modifier key, the browser opens a tab or a
 * window, or downloads the target.
 */
export function isPlainClick({ button, ctrlKey, metaKey, shiftKey, altKey }: MouseEvent): boolean {
  return button === 0 && !ctrlKey && !metaKey && !shiftKey && !altKey;
}
