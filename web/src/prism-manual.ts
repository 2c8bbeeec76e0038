// Loaded before Prism, which otherwise highlights the document by itself when it is loaded.
(globalThis as { Prism?: unknown }).Prism = { manual: true, disableWorkerMessageHandler: true };

export {};
