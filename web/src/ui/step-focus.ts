import { useLayoutEffect, useRef } from 'preact/hooks';

/**
 * Focuses the element of each new step of a dialog that the dialog would focus first. Returns the reference of an element within
 * the dialog.
 */
export function useStepFocus(step: string) {
  const body = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    body.current?.closest('dialog')?.querySelector<HTMLElement>('[autofocus]')?.focus();
  }, [step]);
  return body;
}
