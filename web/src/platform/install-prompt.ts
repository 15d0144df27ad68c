import { signal } from '@preact/signals';

/** The browser's question whether to install the page (Chromium). */
interface InstallPromptEvent extends Event {
  prompt(): Promise<unknown>;
}

/** The question that the browser is ready to ask; null if it offers none, or the page is installed. */
export const installPrompt = signal<InstallPromptEvent | null>(null);

/** Waits for the question of the browser, for the lifetime of the page. */
export function watchInstallPrompt(): void {
  window.addEventListener('beforeinstallprompt', (event) => {
    // Otherwise, Chrome on Android covers the lower edge of the page with a question of its own.
    event.preventDefault();
    installPrompt.value = event as InstallPromptEvent;
  });
}

/** Asks the user whether to install the page. Must be called during an input event. */
export function install(): void {
  void installPrompt.value?.prompt();
  // It can be asked only once. The browser offers another one later.
  installPrompt.value = null;
}
