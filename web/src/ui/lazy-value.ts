import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

/** A value whose code is not part of the first load. */
export interface LazyValue<Value> {
  /** A hook that loads the value if it is needed. Returns undefined until then, and null if it could not be loaded. */
  use(isNeeded?: boolean): Value | null | undefined;
  /** Loads the value in advance. */
  preload(): void;
}

/** An attempt that failed is repeated when a component that needs the value is shown. */
export function lazyValue<Value>(load: () => Promise<Value>): LazyValue<Value> {
  const loaded = signal<Value | null | undefined>(undefined);
  let loading: Promise<void> | undefined;
  const attempt = async () => {
    try {
      loaded.value = await load();
    } catch {
      loaded.value = null;
      loading = undefined;
    }
  };
  const preload = () => {
    loading ??= attempt();
  };
  return {
    use(isNeeded = true) {
      useEffect(() => {
        if (isNeeded) preload();
      }, [isNeeded]);
      return loaded.value;
    },
    preload,
  };
}
