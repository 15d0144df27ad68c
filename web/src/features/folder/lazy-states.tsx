import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { useLanguage } from '../../platform/text/language.ts';
import { Button } from '../../ui/button.tsx';
import { whenPicturesLoaded } from '../../ui/when-idle.ts';

type States = typeof import('./folder-states.tsx');

const loaded = signal<States | null>(null);
const hasFailed = signal(false);

async function load(): Promise<void> {
  hasFailed.value = false;
  try {
    loaded.value ??= await import('./folder-states.tsx');
  } catch {
    hasFailed.value = true;
  }
}

/** Returns the components that replace the entries; null until their code is loaded, at once or when the browser is idle. */
export function useFolderStates(isNeeded: boolean): States | null {
  const isLoaded = loaded.value !== null;
  useEffect(() => {
    if (isNeeded) void load();
    else if (!isLoaded) whenPicturesLoaded(() => void load());
  }, [isNeeded, isLoaded]);
  return loaded.value;
}

/** Shown instead of a state whose code is not loaded. */
export function UnknownState() {
  const { text } = useLanguage();
  if (!hasFailed.value) return null;
  return (
    <div class="state" role="alert">
      <p class="title">{text.problems.unreachable}</p>
      <Button onClick={() => void load()}>{text.controls.retry}</Button>
    </div>
  );
}
