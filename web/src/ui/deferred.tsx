import { signal } from '@preact/signals';
import type { ComponentType, VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import { whenIdle } from './when-idle.ts';

/** A component whose code is not part of the first load. */
interface DeferredComponent<Props> {
  (props: Props): VNode | null;
  /** Loads the code. Rejects if that fails. */
  load(): Promise<void>;
}

/**
 * Returns a component whose code is not part of the first load: it loads when the browser is idle, or when the component
 * is shown. Until then, the component shows nothing. An attempt that failed is repeated when the component is shown again.
 */
export function deferred<Props extends object>(
  importComponent: () => Promise<ComponentType<Props>>,
): DeferredComponent<Props> {
  const loaded = signal<ComponentType<Props> | null>(null);
  let loading: Promise<void> | undefined;
  const attach = async () => {
    loaded.value = await importComponent();
  };
  const load = () => {
    loading ??= attach().catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
  const start = () => void load().catch(() => {});
  whenIdle(start);
  const Deferred = (props: Props) => {
    useEffect(start, []);
    const Component = loaded.value;
    return Component && <Component {...props} />;
  };
  return Object.assign(Deferred, { load });
}
