import { effect, type ReadonlySignal } from '@preact/signals';

/** Has the browser ask before the page is left, while `isBusy`. Only then: browsers keep pages better that don't. */
export function askBeforeLeaving(isBusy: ReadonlySignal<boolean>): void {
  effect(() => {
    if (!isBusy.value) return undefined;
    window.addEventListener('beforeunload', ask);
    return () => window.removeEventListener('beforeunload', ask);
  });
}

function ask(event: BeforeUnloadEvent): void {
  event.preventDefault();
}
