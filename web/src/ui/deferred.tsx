import { signal } from '@preact/signals';
import type { ComponentType, VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import { whenIdle } from './when-idle.ts';

/**
 * Returns a component whose code is not part of the first load: it loads when the browser is idle, or when the component
 * is shown. Until then, the component shows nothing. An attempt that failed is repeated when the component is shown again.
 */
export function deferred<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): (props: Props) => VNode | null {
  const loaded = signal<ComponentType<Props> | null>(null);
  let loading: Promise<void> | undefined;
  const attach = async () => {
    loaded.value = await load();
  };
  const start = () => {
    loading ??= attach().catch(() => {
      loading = undefined;
    });
  };
  whenIdle(start);
  return function Deferred(props) {
    useEffect(start, []);
    const Component = loaded.value;
    return Component && <Component {...props} />;
  };
}
