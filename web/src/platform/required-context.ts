import { type ComponentChildren, createContext, type FunctionComponent } from 'preact';
import { useContext } from 'preact/hooks';

/** Makes a value available to all components below. */
export type Provider<Value> = FunctionComponent<{ value: Value; children: ComponentChildren }>;

/**
 * Creates a context without a default. Returns its hook and its provider. The hook throws an error with `name` outside
 * of the provider.
 */
export function createRequiredContext<Value>(name: string): readonly [use: () => Value, provider: Provider<Value>] {
  const context = createContext<Value | undefined>(undefined);
  const use = () => {
    const value = useContext(context);
    if (value === undefined) throw new Error(`A component was rendered outside of the provider of ${name}.`);
    return value;
  };
  return [use, context.Provider];
}
