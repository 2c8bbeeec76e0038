// What is shown now. One object, so that every module reads and writes the same.
import type { Pane } from "./panes";
import type { Text } from "./types";

export const state: {
  panes: Pane[];
  /** The line whose relatives stay lit. */
  pinned: HTMLElement | null;
  /** Builds what is not yet built of the view that is shown. */
  unfold: (() => void) | null;
  /** Number of the search that is running; each change of the view ends it. */
  searching: number;
  /** Opens a text of the compile that is shown, in a pane beside this one. */
  open: (text: Text, beside: Pane) => void;
  /** Shows what the pinned line belongs to: words, and behind them links. Empty words hide it. */
  belongs: (links: HTMLElement[], words: string) => void;
  /** Lets panes and pictures end where the window ends; main.ts sets it. */
  fit: () => void;
  /** Shows the view that the address names; main.ts sets it. */
  route: () => void;
} = {
  panes: [],
  pinned: null,
  unfold: null,
  searching: 0,
  open: () => {},
  belongs: () => {},
  fit: () => {},
  route: () => {},
};
