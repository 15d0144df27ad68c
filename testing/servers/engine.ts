/** A browser whose engine is not Chromium, with one page. Elements are named by CSS selectors. */
export interface Engine extends AsyncDisposable {
  open(url: string): Promise<void>;
  /** Sets the size of the window in CSS pixels. */
  resize(width: number, height: number): Promise<void>;
  /** Clicks an element as soon as it is visible and does not move. */
  click(selector: string): Promise<void>;
  /** Presses one key after another, each with its modifiers: `F2`, `Alt+Shift+u`. */
  press(...keys: readonly string[]): Promise<void>;
  type(text: string): Promise<void>;
  /** Chooses files in the page's file input. */
  chooseFiles(paths: readonly string[]): Promise<void>;
  /** Evaluates an expression in the page, and waits for its promise if it is one. The value must be JSON. */
  evaluate(expression: string): Promise<unknown>;
  /** The errors that the page logged or threw, if the browser reports them. */
  readonly errors: readonly string[];
}
